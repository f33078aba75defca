"""How good judgments are: records of judges, weights, pooled beliefs, calibration, evaluation."""
