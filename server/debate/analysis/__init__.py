"""What judgments have been worth: records of judges, weights, pooled beliefs, calibration, evaluation."""
