import { enqueueOn, SETTLED } from '@csi-sidecars/controller'
import { CSI_NODES } from '@csi-sidecars/kube-types'
import type { App } from '@csi-sidecars/sidecar'

/** The smallest sidecar, which logs each CSINode. It is not released; copy it to begin a new sidecar. */
export const example: App = {
  name: 'csi-example',
  prefix: 'example',
  replaces: 'no Go sidecar',
  flags: [],
  gates: { sidecarGates: {}, permanent: {} },
  lease: { prefix: 'csi-example-', component: (driverName) => `csi-example-${driverName}` },
  controllers: ({ caches, log }) => {
    const nodes = caches.open('CSINodes', {
      resource: CSI_NODES,
      resyncMs: 0,
      project: ({ metadata: { name = '', uid = '', resourceVersion = '' } = {} }) => ({
        key: name,
        uid,
        resourceVersion,
      }),
    })
    const reconcile = async (key: string): Promise<typeof SETTLED> => {
      log.info('CSINode', { node: key })
      return SETTLED
    }
    const controller = {
      name: 'example',
      workers: 1,
      backoff: { baseMs: 1000, maxMs: 60_000 },
      caches: [nodes],
      sources: [enqueueOn(nodes, (event) => (event.type === 'added' ? [event.object.key] : []))],
      wakers: {},
      reconcile,
      callsDriver: false,
    }
    return { queues: [controller.name], controllers: () => [controller] }
  },
}
