import { messageOf } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type AppParts, FATAL, StartError } from '@csi-sidecars/sidecar'
import { goQuote } from '@csi-sidecars/telemetry'
import type { Owner } from './object.ts'

/** The flags that choose the owner of the capacity objects. */
export interface OwnerOptions extends Pick<AppParts, 'env' | 'client' | 'log' | 'signal'> {
  readonly values: { readonly 'capacity-ownerref-level': number }
}

/** The pod at which the search for the owner begins. */
interface OwnerSearch {
  readonly namespace: string
  readonly podName: string
  /** The number of controller references between the pod and the owner. 0: the pod itself is the owner. */
  readonly level: number
}

/** The part of an object that names its owner. */
interface OwnedObject {
  readonly metadata?: {
    readonly uid?: string
    readonly ownerReferences?: readonly (Owner & { readonly controller?: boolean })[]
  }
}

/** Returns the owner at the level of `--capacity-ownerref-level`. Undefined: the objects have no owner. Throws StartError. */
export async function lookUpOwner(
  { values, env, client, log, signal }: OwnerOptions,
  namespace: string,
): Promise<Owner | undefined> {
  const level = values['capacity-ownerref-level']
  if (level < 0) return undefined
  const podName = env['POD_NAME'] ?? ''
  if (podName === '') {
    throw new StartError('need POD_NAME env variable to determine CSIStorageCapacity owner', { exitCode: FATAL })
  }
  const owner = await followControllers(client, { namespace, podName, level }, signal)
  log.info(`using ${owner.apiVersion}/${owner.kind} ${owner.name} as owner of CSIStorageCapacity objects`)
  return owner
}

/** Finds the owner of CSIStorageCapacity objects by the controller references of this pod. Throws StartError. */
async function followControllers(client: KubeClient, search: OwnerSearch, signal: AbortSignal): Promise<Owner> {
  const { namespace, podName, level } = search
  let current: Omit<Owner, 'uid'> = { apiVersion: 'v1', kind: 'Pod', name: podName }
  for (let left = level; ; left -= 1) {
    const { uid = '', ownerReferences = [] } = await readMetadata(client, pathOf(current, namespace), signal)
    if (left === 0) return { ...current, uid }
    const owner = ownerReferences.find(({ controller }) => controller === true)
    if (owner === undefined) {
      const { apiVersion, kind, name } = current
      const objectName = `${apiVersion}/${kind} ${goQuote(name)} in namespace ${goQuote(namespace)}`
      throw lookUpError(`${objectName} has no controlling owner, cannot unwind the ownership further`)
    }
    const { apiVersion, kind, name } = owner
    // The reference contains all data of the last owner, so no permission to read this owner is needed.
    if (left === 1) return { apiVersion, kind, name, uid: owner.uid }
    current = { apiVersion, kind, name }
  }
}

async function readMetadata(
  client: KubeClient,
  path: string,
  signal: AbortSignal,
): Promise<NonNullable<OwnedObject['metadata']>> {
  try {
    return ((await client.discover(path, { signal })) as OwnedObject).metadata ?? {}
  } catch (cause) {
    signal.throwIfAborted()
    throw lookUpError(`get object: ${messageOf(cause)}`, cause)
  }
}

/** Returns the API path of an object. Appends `s` to the kind, because all kinds of pod owners have regular plurals. */
function pathOf({ apiVersion, kind, name }: Omit<Owner, 'uid'>, namespace: string): string {
  const api = apiVersion.includes('/') ? 'apis' : 'api'
  return `/${api}/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`
}

function lookUpError(why: string, cause?: unknown): StartError {
  return new StartError(`look up owner(s) of pod: ${why}`, { cause, exitCode: FATAL })
}
