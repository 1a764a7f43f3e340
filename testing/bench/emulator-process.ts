/** The emulated API server alone in a process, so that its cost is separate from that of its clients. */
import { startApiServer } from '@csi-sidecars/emulator'
import { type KubeObject, RESOURCES, type Resource } from '@csi-sidecars/kube-types'
import { csiNode, pod, pv, pvc, va } from '@csi-sidecars/testkit'

/** What the parent asks for: objects of one kind. */
export interface Fill {
  readonly plural: string
  readonly count: number
}

/** How to reach the server. */
export interface Listening {
  readonly url: string
  readonly kubeconfig: string
}

/** Its messages: that it listens, and that objects exist. */
export type Message = Listening | { readonly filled: string }

/** Objects of ordinary size for kinds whose shape matters; for others a name is enough. */
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
  send({ filled: plural })
})
process.on('disconnect', () => {
  process.exitCode = 0
  server.stop().catch(() => process.abort())
})
send({ url: server.url, kubeconfig: server.kubeconfig() })

function make({ kind, plural, group, version }: Resource<unknown>, index: number): KubeObject {
  const build = BUILDERS[plural]
  if (build !== undefined) return build(index)
  return {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    metadata: { name: `${plural}-${index}`, labels: { app: 'bench', number: String(index) } },
  }
}

function send(what: Message): void {
  process.send?.(what)
}
