import { at, type Json, type KubeObject, listAt, objectAt, textAt } from '../schema/json.ts'
import {
  DAEMON_SET,
  DEPLOYMENT,
  type Kind,
  NETWORK_POLICY,
  POD_DISRUPTION_BUDGET,
  PRIORITY_CLASS,
  REPLICA_SET,
  SERVICE,
  STATEFUL_SET,
} from '../schema/kinds.ts'
import { selectorText } from '../storage/selector-text.ts'
import { AGE, BOOLEAN, type Column, column, NAME, WIDE } from './cells.ts'

const INTEGER = { type: 'integer' } as const

function number(...path: readonly string[]): (object: KubeObject) => number {
  return (object) => {
    const found = at(object, ...path)
    return typeof found === 'number' ? found : 0
  }
}

const CONTAINERS = [column('Containers', ofContainers('name'), WIDE), column('Images', ofContainers('image'), WIDE)]
const SELECTOR = column(
  'Selector',
  (object) => selectorText(objectAt(object, 'spec', 'selector') ?? {}) || '<none>',
  WIDE,
)
const READY = column(
  'Ready',
  (object) => `${number('status', 'readyReplicas')(object)}/${number('spec', 'replicas')(object)}`,
)

/** What `kubectl get` shows of the kinds that charts install. */
export const APP_COLUMNS: readonly (readonly [Kind, readonly Column[]])[] = [
  [
    DEPLOYMENT,
    [
      NAME,
      READY,
      column('Up-to-date', number('status', 'updatedReplicas')),
      column('Available', number('status', 'availableReplicas')),
      AGE,
      ...CONTAINERS,
      SELECTOR,
    ],
  ],
  [
    REPLICA_SET,
    [
      NAME,
      column('Desired', number('spec', 'replicas'), INTEGER),
      column('Current', number('status', 'replicas'), INTEGER),
      column('Ready', number('status', 'readyReplicas'), INTEGER),
      AGE,
      ...CONTAINERS,
      SELECTOR,
    ],
  ],
  [STATEFUL_SET, [NAME, READY, AGE, ...CONTAINERS]],
  [
    DAEMON_SET,
    [
      NAME,
      column('Desired', number('status', 'desiredNumberScheduled'), INTEGER),
      column('Current', number('status', 'currentNumberScheduled'), INTEGER),
      column('Ready', number('status', 'numberReady'), INTEGER),
      column('Up-to-date', number('status', 'updatedNumberScheduled'), INTEGER),
      column('Available', number('status', 'numberAvailable'), INTEGER),
      column('Node Selector', (object) => labelText(at(object, 'spec', 'template', 'spec', 'nodeSelector'))),
      AGE,
      ...CONTAINERS,
      SELECTOR,
    ],
  ],
  [
    SERVICE,
    [
      NAME,
      column('Type', (object) => textAt(object, 'spec', 'type') ?? ''),
      column('Cluster-IP', (object) => textAt(object, 'spec', 'clusterIP') ?? '<none>'),
      column('External-IP', externalAddress),
      column('Port(s)', (object) => listAt(object, 'spec', 'ports').map(portText).join(',') || '<none>'),
      AGE,
      column('Selector', (object) => labelText(at(object, 'spec', 'selector')), WIDE),
    ],
  ],
  [
    NETWORK_POLICY,
    [
      NAME,
      column('Pod-Selector', (object) => selectorText(objectAt(object, 'spec', 'podSelector') ?? {}) || '<none>'),
      AGE,
    ],
  ],
  [
    PRIORITY_CLASS,
    [
      NAME,
      column('Value', number('value'), INTEGER),
      column('Global-Default', (object) => at(object, 'globalDefault') === true, BOOLEAN),
      AGE,
      column('PreemptionPolicy', (object) => textAt(object, 'preemptionPolicy') ?? ''),
    ],
  ],
  [
    POD_DISRUPTION_BUDGET,
    [
      NAME,
      column('Min Available', (object) => String(at(object, 'spec', 'minAvailable') ?? 'N/A')),
      column('Max Unavailable', (object) => String(at(object, 'spec', 'maxUnavailable') ?? 'N/A')),
      column('Allowed Disruptions', number('status', 'disruptionsAllowed'), INTEGER),
      AGE,
    ],
  ],
]

function labelText(labels: Json | undefined): string {
  return selectorText({ matchLabels: labels }) || '<none>'
}

function portText(port: Json): string {
  const node = at(port, 'nodePort')
  return `${at(port, 'port')}${node === undefined ? '' : `:${node}`}/${at(port, 'protocol')}`
}

function externalAddress(object: KubeObject): string {
  const type = textAt(object, 'spec', 'type')
  if (type === 'ExternalName') return textAt(object, 'spec', 'externalName') ?? ''
  const ingress = listAt(object, 'status', 'loadBalancer', 'ingress')
  const given =
    type === 'LoadBalancer' ? ingress.map((each) => textAt(each, 'ip') ?? textAt(each, 'hostname') ?? '') : []
  const all = [...given.sort(), ...listAt(object, 'spec', 'externalIPs').map(String)].join(',')
  return all === '' ? (type === 'LoadBalancer' ? '<pending>' : '<none>') : all
}

function ofContainers(field: string): (object: KubeObject) => string {
  return (object) =>
    listAt(object, 'spec', 'template', 'spec', 'containers')
      .map((container) => textAt(container, field) ?? '')
      .join(',')
}
