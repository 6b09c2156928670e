"""Commands that check inputs, and show what follows from them."""
