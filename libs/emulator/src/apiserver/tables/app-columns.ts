import { at, type Json, type KubeObject, listAt, objectAt, textAt } from '../schema/json.ts'
import { selectorText } from '../storage/selector-text.ts'
import { AGE, BOOLEAN, type Columns, column, flag, INTEGER, NAME, number, text, WIDE } from './cells.ts'

const CONTAINERS = [column('Containers', ofContainers('name'), WIDE), column('Images', ofContainers('image'), WIDE)]
const SELECTOR = column('Selector', selector('selector'), WIDE)
const READY = column(
  'Ready',
  (object) => `${number('status.readyReplicas')(object)}/${number('spec.replicas')(object)}`,
)

/** The kinds that charts install. */
export const APP_COLUMNS: Columns = {
  Deployment: [
    NAME,
    READY,
    column('Up-to-date', number('status.updatedReplicas')),
    column('Available', number('status.availableReplicas')),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  ReplicaSet: [
    NAME,
    column('Desired', number('spec.replicas'), INTEGER),
    column('Current', number('status.replicas'), INTEGER),
    column('Ready', number('status.readyReplicas'), INTEGER),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  StatefulSet: [NAME, READY, AGE, ...CONTAINERS],
  DaemonSet: [
    NAME,
    column('Desired', number('status.desiredNumberScheduled'), INTEGER),
    column('Current', number('status.currentNumberScheduled'), INTEGER),
    column('Ready', number('status.numberReady'), INTEGER),
    column('Up-to-date', number('status.updatedNumberScheduled'), INTEGER),
    column('Available', number('status.numberAvailable'), INTEGER),
    column('Node Selector', (object) => labelText(at(object, 'spec', 'template', 'spec', 'nodeSelector'))),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  Service: [
    NAME,
    column('Type', text('spec.type')),
    column('Cluster-IP', text('spec.clusterIP', '<none>')),
    column('External-IP', externalAddress),
    column('Port(s)', (object) => listAt(object, 'spec', 'ports').map(portText).join(',') || '<none>'),
    AGE,
    column('Selector', (object) => labelText(at(object, 'spec', 'selector')), WIDE),
  ],
  NetworkPolicy: [NAME, column('Pod-Selector', selector('podSelector')), AGE],
  PriorityClass: [
    NAME,
    column('Value', number('value'), INTEGER),
    column('Global-Default', flag('globalDefault'), BOOLEAN),
    AGE,
    column('PreemptionPolicy', text('preemptionPolicy')),
  ],
  PodDisruptionBudget: [
    NAME,
    column('Min Available', (object) => String(at(object, 'spec', 'minAvailable') ?? 'N/A')),
    column('Max Unavailable', (object) => String(at(object, 'spec', 'maxUnavailable') ?? 'N/A')),
    column('Allowed Disruptions', number('status.disruptionsAllowed'), INTEGER),
    AGE,
  ],
}

function selector(field: string): (object: KubeObject) => string {
  return (object) => selectorText(objectAt(object, 'spec', field) ?? {}) || '<none>'
}

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
  return (object) => {
    const containers = listAt(object, 'spec', 'template', 'spec', 'containers')
    return containers.map((container) => textAt(container, field) ?? '').join(',')
  }
}
