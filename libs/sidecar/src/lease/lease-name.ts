import { readFile } from 'node:fs/promises'
import { systemCodeOf } from '@csi-sidecars/base'
import { goQuote } from '@csi-sidecars/telemetry'
import { type FlaggedApp, type FlagsOfApp, prefixableFlags } from '../flags/combined-flags.ts'

/** The places that can name the namespace of the Lease. The flag comes first, then the environment, then the file. */
export interface NamespaceSources {
  /** The value of --leader-election-namespace. */
  readonly flag: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The file with the namespace of the service account. */
  readonly file?: string
}

/** Returns a name that the lease library accepts: letters, digits and dashes, without a dash at the end. */
export function sanitizeName(name: string): string {
  const clean = name.replace(/[^a-zA-Z0-9-]/gu, '-')
  return clean.endsWith('-') ? `${clean}X` : clean
}

/** Returns the name of an app's Lease: the prefix, such as `external-resizer-`, before the driver's name. */
export function leaseName(prefix: string, driver: string): string {
  return sanitizeName(`${prefix}${driver}`)
}

/**
 * Returns the identity of the lease holder: the host name, which is the pod's name. Two replicas with the same host
 * name count as one holder.
 */
export function leaseIdentity(hostName: string): string {
  return sanitizeName(hostName)
}

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** Returns the namespace: the flag, else $POD_NAMESPACE, else that of the service account, else `default`. */
export async function leaseNamespace({ flag, env, file = NAMESPACE_FILE }: NamespaceSources): Promise<string> {
  const podNamespace = env['POD_NAMESPACE'] ?? ''
  if (flag !== '') return flag
  if (podNamespace !== '') return podNamespace
  return (await readTrimmed(file)) || 'default'
}

/** Reads a text file. An unreadable file counts as empty. Outside of a pod the file is missing. */
async function readTrimmed(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error
    return ''
  }
}

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
/** The names of Leases that the API server accepts. */
// regex-bounded: the expression reads the value of a flag, and each label in it once
const LEASE_NAME = new RegExp(`^${LABEL}(\\.${LABEL})*$`)
const MAX_NAME_LENGTH = 253

/** Returns why the flags of the apps do not allow one Lease for all of them. */
export function singleLeaseError(
  apps: readonly FlaggedApp[],
  { values, explicitFlags }: FlagsOfApp,
): string | undefined {
  const name = String(values['single-lease'])
  if (name === '') return undefined
  if (name.length > MAX_NAME_LENGTH || !LEASE_NAME.test(name)) {
    const rule = `a lowercase RFC 1123 subdomain, of at most ${MAX_NAME_LENGTH} characters, is needed`
    return `invalid value ${goQuote(name)} for flag -single-lease: ${rule}`
  }
  const electionFlag = apps.flatMap(ownElectionFlags).find((flag) => explicitFlags.has(flag))
  if (electionFlag !== undefined)
    return `flag -${electionFlag} is for a lease of its own, and -single-lease is one lease for all`
  return values['leader-election'] === true ? undefined : 'flag -single-lease needs -leader-election'
}

function ownElectionFlags(app: FlaggedApp): readonly string[] {
  return prefixableFlags(app)
    .filter(({ name }) => name.startsWith('leader-election'))
    .map(({ name }) => `${app.prefix}-${name}`)
}
