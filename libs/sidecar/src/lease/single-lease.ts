import { goQuote } from '@csi-sidecars/telemetry'
import { type FlaggedApp, type FlagsOfApp, flagsForOne } from '../flags/combined-flags.ts'

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
/** The names of Leases that the API server accepts. */
// bounded: a flag, of which each label is read once
const LEASE_NAME = new RegExp(`^${LABEL}(\\.${LABEL})*$`)
const LONGEST_NAME = 253

/** Returns why these flags do not allow one Lease for all apps. */
export function singleLeaseError(apps: readonly FlaggedApp[], { values, given }: FlagsOfApp): string | undefined {
  const name = String(values['single-lease'])
  if (name === '') return undefined
  if (name.length > LONGEST_NAME || !LEASE_NAME.test(name)) {
    const rule = `a lowercase RFC 1123 subdomain, of at most ${LONGEST_NAME} characters, is needed`
    return `invalid value ${goQuote(name)} for flag -single-lease: ${rule}`
  }
  const own = apps.flatMap(ownElectionFlags).find((flag) => given.has(flag))
  if (own !== undefined) return `flag -${own} is for a lease of its own, and -single-lease is one lease for all`
  return values['leader-election'] === true ? undefined : 'flag -single-lease needs -leader-election'
}

function ownElectionFlags(app: FlaggedApp): readonly string[] {
  return flagsForOne(app)
    .filter(({ name }) => name.startsWith('leader-election'))
    .map(({ name }) => `${app.prefix}-${name}`)
}
