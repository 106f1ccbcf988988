"""What all other packages share: records, errors, the plug-in registry, metrics and item scores."""
