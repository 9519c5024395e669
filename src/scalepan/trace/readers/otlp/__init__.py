"""OpenTelemetry traces of agents: spans and events in OTLP, by the GenAI conventions or OpenInference."""
