import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { CHART } from '../../../charts/tests/helm.ts'
import { manifestTexts } from '../build/programs.ts'
import type { SidecarVariant } from '../command/options.ts'
import { FOLDERS } from '../machine/folders.ts'
import { inside, tryInside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import { driverFacts } from './driver-facts.ts'
import { apply, kubectl, remove } from './kubectl.ts'
import {
  chartValues,
  clusterManifests,
  driverManifest,
  type Manifest,
  NAMESPACE,
  permissions,
  SIDECARS_DEPLOYMENT,
  sidecarsManifest,
} from './manifests.ts'

/** The name of the chart's release. */
export const RELEASE = 'example'
/** The label of the pods of the chart. */
export const PODS_OF_CHART = 'app.kubernetes.io/name=csi-sidecars'

/** Deploys the driver with its sidecars, which replace the deployed sidecars, and waits until they are ready. */
export function deploy(node: NodeRecord, sidecars: SidecarVariant | 'none'): void {
  removeOthers(node, sidecars)
  if (sidecars === 'none') return
  if (sidecars === 'chart') {
    deployCluster(node)
    installChart(node, chartValues(driverFacts(node.driver)))
  } else deploySidecars(node, sidecars)
}

/** Deploys the driver's pod and a Deployment of the four sidecars, and waits until they are ready. */
export function deploySidecars(
  node: NodeRecord,
  sidecars: 'go' | 'ours',
  { name = SIDECARS_DEPLOYMENT, replicas = 1 } = {},
): void {
  deployCluster(node)
  const driver = driverFacts(node.driver)
  const deployment = sidecarsManifest(sidecars, driver, { name, replicas })
  apply(node, [...permissions(read('*rbac*')), driverManifest(driver), deployment])
  kubectl(node, '-n', NAMESPACE, 'rollout', 'status', 'daemonset/driver', '--timeout=180s')
  rolledOut(node, name)
}

/** Waits until all pods of a Deployment are of its newest version. */
export function rolledOut(node: NodeRecord, deployment = SIDECARS_DEPLOYMENT): void {
  kubectl(node, '-n', NAMESPACE, 'rollout', 'status', `deployment/${deployment}`, '--timeout=180s')
}

/** Deploys the driver's pod on the node, for sidecars in other pods. */
export function deployDriver(node: NodeRecord): void {
  deployCluster(node)
  apply(node, [driverManifest(driverFacts(node.driver))])
  kubectl(node, '-n', NAMESPACE, 'rollout', 'status', 'daemonset/driver', '--timeout=180s')
}

function deployCluster(node: NodeRecord): void {
  apply(node, read('external-snapshotter-*storage.k8s.io*'))
  kubectl(node, 'wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all')
  apply(node, clusterManifests(driverFacts(node.driver)))
  kubectl(node, '-n', 'kube-system', 'rollout', 'status', 'deployment/snapshot-controller', '--timeout=180s')
}

/** Installs or upgrades a release of our chart, and waits as the README says. */
export function installChart(
  node: NodeRecord,
  values: object,
  { release = RELEASE, namespace = NAMESPACE, args = [] as readonly string[] } = {},
): string {
  const file = join(FOLDERS.state, `${release}-values.json`)
  writeFileSync(file, JSON.stringify(values))
  const command = ['helm', 'upgrade', '--install', release, CHART, '--namespace', namespace, '--values', file]
  return inside(node, [...command, '--wait', '--timeout', '3m', ...args])
}

/**
 * Removes what another variant of sidecars has deployed, and waits until its pods have ended: two drivers must not share
 * a socket. Between the two variants of a Deployment a rollout is enough.
 */
function removeOthers(node: NodeRecord, sidecars: SidecarVariant | 'none'): void {
  if (sidecars !== 'chart' && tryInside(node, ['helm', 'status', RELEASE, '--namespace', NAMESPACE]).status === 0) {
    inside(node, ['helm', 'uninstall', RELEASE, '--namespace', NAMESPACE, '--wait'])
    kubectl(node, '-n', NAMESPACE, 'wait', '--for=delete', 'pod', '-l', PODS_OF_CHART, '--timeout=180s')
  }
  if (sidecars === 'chart' || sidecars === 'none') {
    const deployed = [`deployment/${SIDECARS_DEPLOYMENT}`, 'daemonset/driver']
    remove(node, '-n', NAMESPACE, '--cascade=foreground', ...deployed)
  }
  if (sidecars === 'none') remove(node, 'namespace', NAMESPACE)
}

function read(pattern: string): readonly Manifest[] {
  return manifestTexts(pattern).flatMap((text) => loadAll(text).filter((each) => each !== null) as Manifest[])
}
