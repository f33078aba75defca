"""Models of providers: asked directly where they speak OpenAI's protocol or Ollama's, else through litellm."""
