import { expect, test } from '@jest/globals'
import { type FlaggedApp, parseCombined } from '../flags/combined-flags.ts'
import { singleLeaseError } from './single-lease.ts'

const APPS: readonly FlaggedApp[] = ['left', 'right'].map((prefix) => ({
  prefix,
  flags: [],
}))

function errorOf(line: string): string | undefined {
  const parsed = parseCombined({ byDefault: APPS }, line.split(' '))
  if (parsed.kind !== 'flags') throw new Error(JSON.stringify(parsed))
  return singleLeaseError(parsed.running, parsed.standard)
}

const NAME_RULE = 'a lowercase RFC 1123 subdomain, of at most 253 characters, is needed'
const OWN = 'is for a lease of its own, and -single-lease is one lease for all'

test.each([
  ['--leader-election --left-leader-election=false', undefined],
  ['--single-lease= --left-leader-election', undefined],
  ['--single-lease=both.of-1 --leader-election', undefined],
  ['--single-lease=both --leader-election --left-retry-interval-max=1m', undefined],
  ['--single-lease=both', 'flag -single-lease needs -leader-election'],
  ['--single-lease=A_b --leader-election', `invalid value "A_b" for flag -single-lease: ${NAME_RULE}`],
  [
    `--single-lease=${'a'.repeat(254)} --leader-election`,
    `invalid value "${'a'.repeat(254)}" for flag -single-lease: ${NAME_RULE}`,
  ],
  ['--single-lease=both --leader-election --right-leader-election=false', `flag -right-leader-election ${OWN}`],
  [
    '--single-lease=both --leader-election --left-leader-election-lease-duration=20s',
    `flag -left-leader-election-lease-duration ${OWN}`,
  ],
])('%s: %j', (line, error) => {
  expect(errorOf(line)).toBe(error)
})
