"""All model families compared on one data set, by what their decisions cost."""
