/** Settings of tests: they ask faster than any client should. Those about limits set their own. */
export const NO_LIMITS = {
  RATE_AUTH: 'off',
  RATE_AUTH_PROTECTED: 'off',
  RATE_ADDRESS: 'off',
  RATE_CUSTOMER: 'off',
  RATE_DIRECT: 'off',
  RATE_DELEGATE: 'off',
};
