import { messageOf } from '@csi-sidecars/base'
import { isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { CSI_NODES, NODES, type Resource } from '@csi-sidecars/kube-types'
import { StartError } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'

interface Server {
  readonly client: Pick<KubeClient, 'get' | 'watch'>
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Ends the start if the role does not allow reading Node and CSINode, or if the Node does not exist. No retry repairs
 * these errors. The watches retry after all other errors.
 */
export async function checkNodeRights(nodeName: string, { client, log, signal }: Server): Promise<void> {
  for (const resource of [NODES, CSI_NODES] as readonly Resource<unknown>[]) {
    try {
      await client.get(resource, { name: nodeName }, { signal }).catch((error: unknown) => {
        // A CSINode comes with the first driver of the node.
        if (resource === CSI_NODES && isNotFound(error)) return
        throw error
      })
      await firstFrame(client, resource, { nodeName, signal })
    } catch (error) {
      signal.throwIfAborted()
      if (isForbidden(error)) throw forbidden(resource, error)
      if (resource === NODES && isNotFound(error)) {
        throw new StartError('No Node has the name of --node-name or NODE_NAME', { cause: error })
      }
      log.info('Could not check the permissions for --node-deployment yet', { err: messageOf(error) })
      return
    }
  }
}

/** A watch that is allowed says so with its first frame, or ends after a second. */
async function firstFrame(
  client: Server['client'],
  resource: Resource<unknown>,
  { nodeName, signal }: { readonly nodeName: string; readonly signal: AbortSignal },
): Promise<void> {
  const fieldSelector = `metadata.name=${nodeName}`
  for await (const _ of client.watch(resource, { fieldSelector, timeoutSeconds: 1, signal })) return
}

function forbidden({ group, plural }: Resource<unknown>, cause: unknown): StartError {
  const pairs = { missing: `apiGroups: ['${group}'], resources: [${plural}], verbs: [get, watch]` }
  return new StartError('Missing permission for --node-deployment', { cause, pairs })
}
