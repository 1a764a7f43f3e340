import { parseFlags } from '@csi-sidecars/sidecar'
import { expect, test } from '@jest/globals'
import { ATTACHER_FLAGS } from './flags.ts'

test.each([
  ['--workers=3 --worker-threads=4', 4],
  ['--worker-threads=4 --workers=3', 3],
])('the flags %s start %i workers', (line, expected) => {
  const parsed = parseFlags(ATTACHER_FLAGS, line.split(' '))
  expect(parsed.kind === 'flags' && parsed.flags.values['worker-threads']).toBe(expected)
})
