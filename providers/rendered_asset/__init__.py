"""`RenderedAsset`: one rendered file, judged by its reader and shown line by line in previews."""
