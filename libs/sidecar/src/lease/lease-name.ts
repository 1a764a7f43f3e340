import { readFile } from 'node:fs/promises'
import { systemCodeOf } from '@csi-sidecars/base'

/** What the lease library takes as a name: letters, digits and dashes, not ending in a dash. */
export function sanitizeName(name: string): string {
  const clean = name.replace(/[^a-zA-Z0-9-]/gu, '-')
  return clean.endsWith('-') ? `${clean}X` : clean
}

/** How an app names its lease: `external-attacher-leader-` and `external-resizer-` before the driver's name. */
export function leaseName(prefix: string, driver: string): string {
  return sanitizeName(`${prefix}${driver}`)
}

/** Who holds the lease: the host's name, which is the pod's. Two replicas on one host name are one holder. */
export function leaseIdentity(hostName: string): string {
  return sanitizeName(hostName)
}

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

export interface NamespaceSources {
  /** Of --leader-election-namespace. */
  readonly flag: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The service account's file. */
  readonly file?: string
}

/** The flag, else $POD_NAMESPACE, else the service account's namespace, else `default`. */
export async function leaseNamespace({ flag, env, file = NAMESPACE_FILE }: NamespaceSources): Promise<string> {
  const podNamespace = env['POD_NAMESPACE'] ?? ''
  if (flag !== '') return flag
  if (podNamespace !== '') return podNamespace
  return (await readTrimmed(file)) || 'default'
}

/** Outside a pod there is no such file, and one that cannot be read is as good as none. */
async function readTrimmed(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error
    return ''
  }
}
