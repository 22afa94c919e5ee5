// Asks where nobody is: a name that is none, and a port that is closed; then one that answers.
for (const url of [
  'http://nowhere.invalid/v1/models',
  'http://127.0.0.1:1/v1/models',
  `${process.env.OPENAI_BASE_URL}/models`,
]) {
  try {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}` } });
    console.log(answer.status);
  } catch (error) {
    console.log(error.message, error.cause.code, error.cause.message);
  }
}
