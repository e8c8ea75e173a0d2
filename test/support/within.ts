/** The promise's own outcome, or an Error with the text after so many milliseconds. */
export async function within<T>(timeout_ms: number, promise: Promise<T>, text: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`after ${timeout_ms} ms: ${text()}`)), timeout_ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
