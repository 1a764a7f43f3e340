import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

// The npm scripts of the packages set this Node option. Without the option, as in `npx jest`, jest restarts itself.
const ESM = '--experimental-vm-modules'
const { NODE_OPTIONS = '' } = process.env
if (!NODE_OPTIONS.includes(ESM) && !process.execArgv.includes(ESM)) {
  const env = { ...process.env, NODE_OPTIONS: `${NODE_OPTIONS} ${ESM} --disable-warning=ExperimentalWarning` }
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { env, stdio: 'inherit' })
  process.exit(status ?? 1)
}

export default {
  // All packages share one cache of transformed files.
  id: 'csi-sidecars',
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  transform: { '\\.ts$': fileURLToPath(new URL('./tools/strip-types.mjs', import.meta.url)) },
  testMatch: ['<rootDir>/{src,test}/**/*.test.ts'],
  // A busy machine is slow, so the time-out of the tests is long.
  testTimeout: 60_000,
  collectCoverageFrom: ['src/**/*.ts', '!src/gen/**'],
  // A failed test may leave a handle open, which keeps jest running. CI forces the exit; a developer sees the fault.
  ...(process.env.CI !== undefined && { forceExit: true }),
}
