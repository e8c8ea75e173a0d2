/** A file name as one word of an api command. */
export const inQuotes = (file: string): string => (file.includes(' ') ? `'${file.replaceAll("'", '')}'` : file);
