/** How the frames of a media stream are wrapped (voice-and-flows 15). */
export const ENCAPSULATIONS = ['rtp', 'sln', 'audiosocket'] as const;
export type EncapsulationName = (typeof ENCAPSULATIONS)[number];

/** Whether a query parameter names an encapsulation. */
export const isEncapsulation = (text: string | null): text is EncapsulationName =>
  ENCAPSULATIONS.some(name => name === text);
