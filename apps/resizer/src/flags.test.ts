import { parseFlags } from '@csi-sidecars/sidecar'
import { expect, test } from '@jest/globals'
import { RESIZER_FLAGS } from './flags.ts'

test.each([
  ['--worker-threads=4', 4],
  ['--workers=-1', -1],
])('the flag %s starts %i workers', (line, expected) => {
  const parsed = parseFlags(RESIZER_FLAGS, line.split(' '))
  expect(parsed.kind === 'flags' && parsed.flags.values['workers']).toBe(expected)
})
