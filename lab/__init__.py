"""The lab: virtual machines that stand in for bare metal, and rehearsals on them. The program never imports it."""
