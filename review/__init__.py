"""What the reader of a pull request reads: a preview in, its verdict and the changed lines of files out."""
