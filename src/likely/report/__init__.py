"""What came of a comparison, or of anybody's scores: facts, as a plain dictionary, and one offline page of them."""
