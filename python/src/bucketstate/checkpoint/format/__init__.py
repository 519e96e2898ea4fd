"""What the files of a checkpoint are: changelogs, manifests, data files, and how they are had."""
