import { NODE_NAME } from '../cluster/configuration.ts'
import type { Print } from '../cluster/up.ts'
import { deploy, deployDriver, installChart, PODS_OF_CHART, RELEASE } from '../deploy/deploy.ts'
import { controllerOnly, driverFacts } from '../deploy/driver-facts.ts'
import { kubectl, list, remove } from '../deploy/kubectl.ts'
import { chartValues, NAMESPACE, separateValues } from '../deploy/manifests.ts'
import { inside, tryInside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'
import { isReady, type Pod, type RunSummary, restartsOf } from './pods.ts'
import { expectThat, RunSteps } from './report.ts'
import { Workspace } from './workspace.ts'

const VOLUMES = 200
const KILLED_CALLS = 40
const MIB = 1024 * 1024

/** Tries the promises of our chart on the node: its life as a release, and what its pods withstand. */
export async function chart(node: NodeRecord, print: Print): Promise<RunSummary> {
  const steps = new RunSteps(print)
  const values = chartValues(driverFacts(node.driver))
  const space = new Workspace(node, 'chart')
  deploy(node, 'chart')
  space.open()
  expectThat(pods(node).every(isReady), 'helm --wait has returned before the pods are ready')
  steps.done('the chart is installed, and --wait has waited')
  inside(node, ['helm', 'test', RELEASE, '--namespace', NAMESPACE])
  steps.done('helm test succeeds')
  await upgradeAndRollBack(node, values)
  steps.done('an upgrade changes the process, and a rollback reverts it')
  const memory = await manyVolumes(node, space)
  steps.done(`${VOLUMES} volumes need ${memory} of the memory limit, and nothing was restarted`)
  await failedLiveness(node, values)
  steps.done('a process that stopped was restarted by its liveness probe')
  restricted(node)
  steps.done('the restricted Pod Security level accepts the pod, and helm test succeeds there')
  await twoReplicas(node, space, steps)
  inside(node, ['helm', 'uninstall', RELEASE, '--namespace', NAMESPACE, '--wait'])
  const left = (): readonly string[] => leftOfChart(node)
  await until('end of the chart', () => left().length === 0, { diagnose: () => left().join(' ') })
  await space.close()
  steps.done('nothing of the uninstalled chart is left')
  const text = `each step as promised, ${VOLUMES} volumes in ${memory}`
  return { text, seconds: steps.seconds }
}

async function upgradeAndRollBack(node: NodeRecord, values: object): Promise<void> {
  const has = (): boolean => JSON.stringify(pods(node)).includes('--attacher-worker-threads=50')
  installChart(node, values, { args: ['--set', 'attacher.workerThreads=50'] })
  expectThat(has(), 'the upgraded pods lack the new value')
  inside(node, ['helm', 'rollback', RELEASE, '--namespace', NAMESPACE, '--wait', '--timeout', '3m'])
  await until('rolled back pods', () => !has() && pods(node).every(isReady))
}

/** Creates many volumes and returns the memory of the container, as the kubelet reports it. */
async function manyVolumes(node: NodeRecord, space: Workspace): Promise<string> {
  createManyClaims(space, VOLUMES)
  untilAllBound(space)
  const [pod] = pods(node)
  expectThat(pod !== undefined && restartsOf([pod]) === 0, 'a container was restarted')
  const container = pod?.spec.containers.find(({ name }) => name === 'csi-sidecars')
  expectThat(container?.securityContext?.readOnlyRootFilesystem === true, 'the root of the container is writable')
  const usedMib = Math.round(workingSet(node, pod?.metadata.name ?? '') / MIB)
  space.remove('pvc', '--all')
  await space.volumesEnd()
  return `${usedMib} MiB of ${container?.resources?.limits?.['memory'] ?? 'no'}`
}

/** Stops the process, so that its liveness probe fails, and waits until the kubelet has restarted it. */
async function failedLiveness(node: NodeRecord, values: object): Promise<void> {
  const probe = ['initialDelaySeconds=5', 'periodSeconds=2', 'timeoutSeconds=1'].map(
    (each) => `sidecars.livenessProbe.${each}`,
  )
  installChart(node, values, { args: ['--set', probe.join()] })
  const restarts = (): number => restartsOf(pods(node))
  const before = restarts()
  await signalSidecars(node, 'STOP', () => pods(node)[0]?.metadata.name)
  await until('restarted container', () => restarts() > before && pods(node).every(isReady))
  installChart(node, values)
}

/** Installs the chart with a driver without privileges, in a namespace that only accepts restricted pods. */
function restricted(node: NodeRecord): void {
  const name = 'restricted.csi.example'
  const where = 'restricted'
  remove(node, 'namespace', where)
  kubectl(node, 'create', 'namespace', where)
  kubectl(node, 'label', 'namespace', where, 'pod-security.kubernetes.io/enforce=restricted')
  const podSecurityContext = { runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532 }
  const containers = [controllerOnly(node.driver, name)]
  const values = {
    ...chartValues(driverFacts(node.driver)),
    livenessprobe: { enabled: false },
    driver: { name, containers, volumes: [{ name: 'data', emptyDir: {} }] },
    socketDir: { volume: { emptyDir: {} } },
    controller: {
      replicaCount: 1,
      podSecurityContext: { ...podSecurityContext, seccompProfile: { type: 'RuntimeDefault' } },
    },
  }
  installChart(node, values, { release: where, namespace: where })
  inside(node, ['helm', 'test', where, '--namespace', where])
  inside(node, ['helm', 'uninstall', where, '--namespace', where, '--wait'])
  remove(node, 'namespace', where)
}

/** Tries two replicas of the sidecars: a drain leaves one of them, and a killed leader loses no call. */
async function twoReplicas(node: NodeRecord, space: Workspace, steps: RunSteps): Promise<void> {
  deploy(node, 'none')
  deployDriver(node)
  installChart(node, separateValues(driverFacts(node.driver)))
  drain(node)
  await until('two ready pods', () => pods(node).filter(isReady).length === 2)
  steps.done('a drain of their only node leaves one of two replicas, by the disruption budget')
  const { countVolumes } = driverFacts(node.driver)
  const before = countVolumes()
  createManyClaims(space, KILLED_CALLS)
  await signalSidecars(node, 'KILL', () => leader(node))
  untilAllBound(space)
  expectThat(countVolumes() - before === KILLED_CALLS, 'the driver has another number of volumes than there are claims')
  await signalSidecars(node, 'KILL', () => leader(node))
  space.remove('pvc', '--all')
  await space.volumesEnd()
  await until('equal number of volumes', () => countVolumes() === before, { seconds: 60 })
  steps.done('a leader killed while it calls the driver leaves no volume and forgets none')
}

/** Returns the objects of the release. Its pods end after Helm has returned. */
function leftOfChart(node: NodeRecord): readonly string[] {
  const inNamespace = list(
    node,
    'all,leases,poddisruptionbudgets,roles,rolebindings',
    '-n',
    NAMESPACE,
    '-l',
    PODS_OF_CHART,
  )
  const ofCluster = list(node, 'clusterroles,clusterrolebindings', '-l', PODS_OF_CHART)
  return [...inNamespace, ...ofCluster].map(({ kind, metadata }) => `${kind}/${metadata.name}`)
}

const pods = (node: NodeRecord): readonly Pod[] => list<Pod>(node, 'pods', '-n', NAMESPACE, '-l', PODS_OF_CHART)

function createManyClaims(space: Workspace, count: number): void {
  const names = Array.from({ length: count }, (_, index) => `claim-${index}`)
  space.createClaims(names, '1Mi')
}

function untilAllBound(space: Workspace): void {
  space.wait('jsonpath={.status.phase}=Bound', 'pvc', '--all')
}

/** Drains the node of two replicas. No other node takes a new replica, so the budget must keep the last one. */
function drain(node: NodeRecord): void {
  const command = ['kubectl', 'drain', NODE_NAME, '--ignore-daemonsets', '--pod-selector', PODS_OF_CHART]
  const { status, stderr } = tryInside(node, [...command, '--timeout=30s'])
  const ready = pods(node).filter(isReady).length
  kubectl(node, 'uncordon', NODE_NAME)
  expectThat(status !== 0 && stderr.includes('disruption budget'), `no budget has stopped the drain: ${stderr.trim()}`)
  expectThat(ready === 1, `the drain has left ${ready} ready pods`)
}

interface Lease {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly holderIdentity?: string }
}

/** Returns the name of the pod that leads the provisioner. */
function leader(node: NodeRecord): string | undefined {
  const { name } = driverFacts(node.driver)
  const lease = list<Lease>(node, 'leases', '-n', NAMESPACE).find(
    ({ metadata }) => metadata.name === name.replaceAll('.', '-') || metadata.name === name,
  )
  const holder = lease?.spec.holderIdentity ?? ''
  return pods(node).find(({ metadata }) => holder.includes(metadata.name))?.metadata.name
}

/** Sends a signal to the process of the sidecars in a pod, as soon as the pod has such a process. */
async function signalSidecars(node: NodeRecord, signal: string, podName: () => string | undefined): Promise<void> {
  // The brackets keep pgrep from finding this shell. Each container knows the name of its pod.
  const script = `
    for pid in $(pgrep -f '[/]csi-sidecars'); do
      if tr '\\0' '\\n' < /proc/$pid/environ | grep -qx "HOSTNAME=$1"; then kill -$2 $pid && found=1; fi
    done
    [ -n "$found" ]`
  const sent = (): boolean => tryInside(node, ['sh', '-c', script, 'sh', podName() ?? 'none', signal]).status === 0
  await until(`process for ${signal}`, sent, { seconds: 60 })
}

interface StatsSummary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string }
    readonly containers: readonly { readonly name: string; readonly memory?: { readonly workingSetBytes?: number } }[]
  }[]
}

/** Returns the working set of the sidecars in a pod, which \`kubectl top\` shows. */
function workingSet(node: NodeRecord, pod: string): number {
  const text = kubectl(node, 'get', '--raw', `/api/v1/nodes/${NODE_NAME}/proxy/stats/summary`)
  const { pods: all } = JSON.parse(text) as StatsSummary
  const containers = all.find(({ podRef }) => podRef.name === pod)?.containers
  return containers?.find(({ name }) => name === 'csi-sidecars')?.memory?.workingSetBytes ?? 0
}
