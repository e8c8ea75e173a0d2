const DECISIONS: Partial<Record<string, (order: number) => boolean>> = {
  '==': order => order === 0,
  '!=': order => order !== 0,
  '>': order => order > 0,
  '>=': order => order >= 0,
  '<': order => order < 0,
  '<=': order => order <= 0,
};

/** Decides by an operator what the order of left and right means; a missing or unknown operator is false. */
const decide = (operator: string, order: number): boolean =>
  Object.hasOwn(DECISIONS, operator) && DECISIONS[operator]?.(order) === true;

/** `left OP right` for numbers. NaN on either side is false, for != too (voice-and-flows 6.5). */
export const compareNumbers = (left: number, operator: string, right: number): boolean =>
  !Number.isNaN(left) && !Number.isNaN(right) && decide(operator, left - right);

/** `left OP right` for texts, ordered by their UTF-8 bytes. */
export const compareTexts = (left: string, operator: string, right: string): boolean =>
  decide(operator, Buffer.compare(Buffer.from(left, 'utf8'), Buffer.from(right, 'utf8')));
