/** The emulated API server alone in a process, so that what it costs is not mixed with what its clients cost. */
import { startApiServer } from '@csi-sidecars/emulator'
import { type KubeObject, RESOURCES, type Resource } from '@csi-sidecars/kube-types'
import { csiNode, pod, pv, pvc, va } from '@csi-sidecars/testkit'

/** What the parent asks for: objects of one kind. */
export interface Fill {
  readonly plural: string
  readonly count: number
}

/** What it is told: how to reach the server, and when objects are there. */
export type Told = { readonly url: string; readonly kubeconfig: string } | { readonly filled: string }

/** Objects of ordinary size where the kind has a shape that matters; elsewhere a name is enough. */
const BUILDERS: Readonly<Record<string, (index: number) => KubeObject>> = {
  persistentvolumes: (index) => pv(`pv-${index}`),
  persistentvolumeclaims: (index) => pvc(`pvc-${index}`),
  volumeattachments: (index) => va(`va-${index}`),
  csinodes: (index) => csiNode(`node-${index}`),
  pods: (index) => pod(`pod-${index}`),
}

const server = await startApiServer({ tls: process.argv.includes('--tls'), adminToken: 'admin' })

process.on('message', ({ plural, count }: Fill) => {
  const resource = RESOURCES.find((each) => each.plural === plural)
  if (resource === undefined) throw new Error(`there is no resource ${plural}`)
  for (let index = 0; index < count; index += 1) server.create(resource as Resource<KubeObject>, make(resource, index))
  tell({ filled: plural })
})
process.on('disconnect', () => {
  process.exitCode = 0
  server.stop().catch(() => process.abort())
})
tell({ url: server.url, kubeconfig: server.kubeconfig() })

function make({ kind, plural, group, version }: Resource<unknown>, index: number): KubeObject {
  const build = BUILDERS[plural]
  if (build !== undefined) return build(index)
  return {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    metadata: { name: `${plural}-${index}`, labels: { app: 'bench', number: String(index) } },
  }
}

function tell(what: Told): void {
  process.send?.(what)
}
