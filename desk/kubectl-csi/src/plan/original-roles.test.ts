import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type Container, ROLE_BINDINGS, ROLES } from '@csi-sidecars/kube-types'
import { runInProcess } from '@csi-sidecars/sidecar/testing'
import { sidecars } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { type Cluster, startCluster } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { ORIGINAL_MANIFESTS, type OriginalManifest } from '../testing/original-roles.ts'
import { deploymentOf, PUBLIC_DRIVERS } from '../testing/public-drivers.ts'
import { DRIVER_CONTAINER, facts, granted, IMAGES } from '../testing/workloads.ts'
import { planOf, type SwapPlan } from './plan.ts'
import { SIDECAR_NAMES } from './sidecars.ts'
import { type Workload, workloadOf } from './workload.ts'

/** Tests with the versions and the exact roles of six drivers: the plan names each right that the sidecars miss. */

const NAMESPACE = 'storage'
const TOKEN = 'account'
const USER = `system:serviceaccount:${NAMESPACE}:controller`
const RBAC = 'rbac.authorization.k8s.io'

function planFor(name: string, manifest: OriginalManifest): SwapPlan {
  const driver = PUBLIC_DRIVERS.find((each) => each.name === name)
  if (driver === undefined) throw new Error(`no driver ${name}`)
  const fullWorkload = workloadOf(deploymentOf(driver), 'Deployment', NAMESPACE)
  if (fullWorkload === undefined) throw new Error(`${name} has no containers`)
  const workload: Workload = {
    ...fullWorkload,
    pod: {
      ...fullWorkload.pod,
      containers: (fullWorkload.pod.containers ?? []).map((each) => asInManifest(each, manifest)),
    },
  }
  return planOf(
    facts([DRIVER_CONTAINER], {
      workload,
      granted: [
        ...manifest.clusterRules.map((rule) => granted(rule)),
        ...manifest.rules.map((rule) => granted(rule, NAMESPACE)),
      ],
    }),
    IMAGES,
  )
}

/** Gives a container the image and the program of the manifest. */
function asInManifest(container: Container, { images, starts }: OriginalManifest): Container {
  const sidecar = SIDECAR_NAMES.find((name) => container.name.startsWith(`csi-${name}-`))
  if (sidecar === undefined) return container
  const image = images[sidecar]
  if (image === undefined) throw new Error(`no image of the ${sidecar}`)
  return { ...container, image, ...(starts !== undefined && { command: [starts(sidecar)] }) }
}

async function clusterWith({ clusterRules, rules }: OriginalManifest): Promise<Cluster> {
  const cluster = await startCluster({ api: { tls: true, tokens: [{ token: TOKEN, user: USER, groups: [] }] } })
  const { api, driver } = cluster
  const name = 'controller'
  const subjects = [{ kind: 'User', name: USER, apiGroup: RBAC }]
  const metadata = { name, namespace: NAMESPACE }
  api.create(CLUSTER_ROLES, { metadata: { name }, rules: clusterRules })
  api.create(ROLES, { metadata, rules })
  api.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects,
  })
  api.create(ROLE_BINDINGS, { metadata, roleRef: { apiGroup: RBAC, kind: 'Role', name }, subjects })
  driver.settings.controller = [...driver.settings.controller, 'CREATE_DELETE_SNAPSHOT']
  return cluster
}

/** Runs the one process with the rights of the account, until each controller works. Returns its log. */
async function runProcess(args: readonly string[], cluster: Cluster): Promise<string> {
  const kubeconfig = join(cluster.directory, 'account')
  writeFileSync(kubeconfig, cluster.api.kubeconfig().replace(cluster.api.token, TOKEN))
  const names = args[0]?.replace('--controllers=', '').split(',') ?? []
  const lines = names.flatMap((name) =>
    Object.hasOwn(FACTS, name) ? [FACTS[name as keyof typeof FACTS].startLine] : [],
  )
  const stop = new AbortController()
  let log = ''
  const onLog = (text: string): void => {
    log += text
    if (lines.every((line) => log.includes(line))) stop.abort()
  }
  const { ending } = await runInProcess(
    sidecars,
    [
      ...args.map((argument) => argument.replaceAll('$(NAMESPACE)', NAMESPACE)),
      ...(args.join(' ').includes(' --http-endpoint=') ? ['--http-endpoint=127.0.0.1:0'] : []),
      ...(names.includes('livenessprobe') ? ['--livenessprobe-health-port=0'] : []),
      ...(args.includes('--provisioner-enable-capacity=true') ? ['--provisioner-capacity-ownerref-level=-1'] : []),
      `--csi-address=${cluster.driver.socket}`,
      `--kubeconfig=${kubeconfig}`,
    ],
    { signal: stop.signal, onLog, env: { POD_NAMESPACE: NAMESPACE, NAMESPACE, POD_NAME: 'controller-0' } },
  )
  expect({ ending, log }).toMatchObject({ ending: { code: 0 } })
  return log
}

describe.each(Object.entries(ORIGINAL_MANIFESTS))('the driver %s with its own roles', (name, manifest) => {
  const plan = planFor(name, manifest)
  const missing = plan.findings.flatMap((finding) => (finding.kind === 'missingRight' ? [finding.right] : []))

  it('the roles are enough for each sidecar to work', () => {
    expect(missing.filter(({ onlyFor }) => onlyFor === undefined)).toEqual([])
  })

  it('the one process starts, and the API server refuses only requests that the plan names', async () => {
    const container = plan.toOneProcess?.forward.find(({ op }) => op === 'replace')
    if (container?.op !== 'replace') throw new Error('the plan has no patch to one process')
    await using cluster = await clusterWith(manifest)
    const { args = [] } = container.value as Container
    await runProcess(args, cluster)
    const sent = cluster.api.requests.entries.filter(({ user }) => user === USER)
    expect(sent.length).toBeGreaterThan(10)
    const refused = sent.filter(({ code }) => code === 403).map(({ verb, resource }) => `${verb} ${resource}`)
    const named = missing.flatMap(({ verbs, resource }) => verbs.map((verb) => `${verb} ${resource}`))
    expect(refused.filter((each) => !named.includes(each))).toEqual([])
  })
})

it.each<[string, readonly string[]]>([
  ['vsphere', ['--feature-gates=Topology=false,VolumeAttributesClass=false']],
  ['ceph-rbd', ['--feature-gates=VolumeAttributesClass=false']],
  ['aws-ebs', []],
  ['longhorn', ['--feature-gates=VolumeAttributesClass=false']],
  // The image names no version, so that the older behaviour is not known.
  ['topolvm', []],
  [
    'democratic-csi',
    ['--prevent-volume-mode-conversion=false', '--feature-gates=Topology=false,VolumeAttributesClass=false'],
  ],
])('the plan of %s adds %j to the provisioner', (name, added) => {
  const manifest = ORIGINAL_MANIFESTS[name]
  if (manifest === undefined) throw new Error(`no manifest of ${name}`)
  const provisioner = planFor(name, manifest).containers.find(({ name: each }) => each.startsWith('csi-provisioner'))
  expect(provisioner?.added).toEqual(added)
})
