import { messageOf } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { StartError } from '@csi-sidecars/sidecar'
import { goQuote } from '@csi-sidecars/telemetry'
import type { Owner } from './object.ts'

interface Start {
  readonly namespace: string
  readonly podName: string
  /** How many controller references to follow from the pod. 0: the pod itself is the owner. */
  readonly level: number
}

interface Owned {
  readonly metadata?: {
    readonly uid?: string
    readonly ownerReferences?: readonly (Owner & { readonly controller?: boolean })[]
  }
}

/** Finds the owner of CSIStorageCapacity objects by the controller references of this pod. Throws StartError. */
export async function lookUpOwner(client: KubeClient, start: Start, signal: AbortSignal): Promise<Owner> {
  const { namespace, podName, level } = start
  let current: Omit<Owner, 'uid'> = { apiVersion: 'v1', kind: 'Pod', name: podName }
  for (let left = level; ; left -= 1) {
    const { uid = '', ownerReferences = [] } = await read(client, pathOf(current, namespace), signal)
    if (left === 0) return { ...current, uid }
    const owner = ownerReferences.find(({ controller }) => controller === true)
    if (owner === undefined) {
      const { apiVersion, kind, name } = current
      const what = `${apiVersion}/${kind} ${goQuote(name)} in namespace ${goQuote(namespace)}`
      throw failed(`${what} has no controlling owner, cannot unwind the ownership further`)
    }
    const { apiVersion, kind, name } = owner
    // The reference identifies the last owner completely, so no permission to read this owner is needed.
    if (left === 1) return { apiVersion, kind, name, uid: owner.uid }
    current = { apiVersion, kind, name }
  }
}

async function read(client: KubeClient, path: string, signal: AbortSignal): Promise<NonNullable<Owned['metadata']>> {
  try {
    return ((await client.discover(path, { signal })) as Owned).metadata ?? {}
  } catch (cause) {
    signal.throwIfAborted()
    throw failed(`get object: ${messageOf(cause)}`, cause)
  }
}

/** Returns the API path of an object. Appends `s` to the kind, because all kinds of pod owners have regular plurals. */
function pathOf({ apiVersion, kind, name }: Omit<Owner, 'uid'>, namespace: string): string {
  const api = apiVersion.includes('/') ? 'apis' : 'api'
  return `/${api}/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`
}

function failed(why: string, cause?: unknown): StartError {
  return new StartError(`look up owner(s) of pod: ${why}`, { cause, exitCode: 255 })
}
