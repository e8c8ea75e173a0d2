/**
 * A promise that is not allowed to hang: fsmrf's promises may never settle (an endpoint destroyed under a running
 * application, a wrong secret). Rejects with `what` after `ms`.
 */
export const withDeadline = async <T>(promise: Promise<T>, ms: number, what: string): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
};
