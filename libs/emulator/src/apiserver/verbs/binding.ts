import { conflict, unprocessable } from '../http/api-failure.ts'
import { type KubeObject, listAt, objectAt, textAt } from '../schema/json.ts'
import { POD } from '../schema/kinds.ts'
import { commit, existing, type Registry, timestamp } from '../storage/registry.ts'

const SCHEDULED = 'PodScheduled'

/** POST of a Binding, which is not kept: gives a pod its node, the one way to do so after it was made. */
export function bind(
  registry: Registry,
  namespace: string | undefined,
  binding: KubeObject,
  options: { readonly dryRun: boolean },
): void {
  // Whose uid it names does not matter: the server clears that of whatever is made.
  const { name = '' } = binding.metadata
  const nodeName = textAt(binding, 'target', 'name') ?? ''
  if (nodeName === '') throw unprocessable()
  const target = { kind: POD, namespace, name, status: false }
  const { object: pod } = existing(registry, target)
  const refused = (why: string): Error => conflict({ group: '', plural: 'pods/binding' }, name, why)
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw refused(`pod ${name} is being deleted, cannot be assigned to a host`)
  }
  const present = textAt(pod, 'spec', 'nodeName') ?? ''
  if (present !== '') throw refused(`pod ${name} is already assigned to node "${present}"`)
  const scheduled = {
    type: SCHEDULED,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(registry.clock),
  }
  const others = listAt(pod, 'status', 'conditions').filter((each) => textAt(each, 'type') !== SCHEDULED)
  const status = { ...objectAt(pod, 'status'), conditions: [...others, scheduled] }
  commit(registry, target, { ...pod, spec: { ...objectAt(pod, 'spec'), nodeName }, status }, options)
}
