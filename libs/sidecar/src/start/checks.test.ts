import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, test } from '@jest/globals'
import { warnOfFips, warnOfLittleMemory } from './checks.ts'

const MIB = 1024 * 1024

test.each([
  [64 * MIB, 1, { limit: '64Mi', needed: '80Mi', neededPerThousandObjects: '2Mi' }],
  [80 * MIB - 1, 1, { limit: '79Mi', needed: '80Mi', neededPerThousandObjects: '2Mi' }],
  [80 * MIB, 1, undefined],
  [80 * MIB, 2, { limit: '80Mi', needed: '96Mi', neededPerThousandObjects: '2Mi' }],
  [96 * MIB, 2, undefined],
  [2 ** 64, 1, undefined],
  [0, 1, undefined],
  [undefined, 1, undefined],
])('a memory limit of %p bytes for %i sidecars causes a warning with the values %j', (limit, sidecars, pairs) => {
  const log = recordingLogger()
  warnOfLittleMemory({ limit, sidecars }, log)
  expect(log.lines.map((line) => line.pairs)).toEqual(pairs === undefined ? [] : [pairs])
})

test.each([
  ['fips140=on', 'on'],
  ['madvdontneed=1,fips140=only', 'only'],
  ['fips140=on,fips140=debug', 'debug'],
])('GODEBUG=%s causes one warning that the process does not use a validated module', (GODEBUG, fips140) => {
  const log = recordingLogger()
  warnOfFips({ GODEBUG }, log)
  expect(log.lines).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/^GODEBUG=fips140 has no effect/), pairs: { fips140 } }),
  ])
})

test.each([undefined, '', 'fips140=off', 'fips140=on,fips140=off', 'tlsfips140=on', 'madvdontneed=1'])(
  'GODEBUG=%s causes no warning',
  (GODEBUG) => {
    const log = recordingLogger()
    warnOfFips({ GODEBUG }, log)
    expect(log.lines).toEqual([])
  },
)
