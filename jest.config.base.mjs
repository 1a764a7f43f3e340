import { fileURLToPath } from 'node:url'

export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  transform: { '\\.ts$': fileURLToPath(new URL('./tools/strip-types.mjs', import.meta.url)) },
  testMatch: ['<rootDir>/src/**/*.test.ts'],
  // A machine that is busy with other work is slow, not broken.
  testTimeout: 60_000,
  collectCoverageFrom: ['src/**/*.ts', '!src/gen/**'],
  // A failed test may leave something open; at a desk that shows as a run that does not end, in CI it must end.
  forceExit: process.env.CI !== undefined,
}
