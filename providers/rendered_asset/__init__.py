"""`RenderedAsset`: one rendered file, checked by its reader and shown line by line in previews."""
