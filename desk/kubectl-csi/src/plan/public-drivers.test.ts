import { FakeClock } from '@csi-sidecars/base/testing'
import { createInProcessServer, type InProcessServer } from '@csi-sidecars/emulator'
import { type ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type Container, DEPLOYMENTS } from '@csi-sidecars/kube-types'
import { parseCombined, parseFlags, parsePFlags, replaceRemovedFlags } from '@csi-sidecars/sidecar/command-line'
import { runInProcess } from '@csi-sidecars/sidecar/testing'
import { sidecars } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { type Cluster, InProcessClient, startCluster } from '@csi-sidecars/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ApiReader } from '../facts/reader.ts'
import { NOW } from '../testing/facts.ts'
import { deploymentOf, PUBLIC_DRIVERS } from '../testing/public-drivers.ts'
import { IMAGES } from '../testing/workloads.ts'
import type { PlanFinding } from './finding.ts'
import { tableOf } from './flags/check-flags.ts'
import type { PatchPair } from './patches/json-patch.ts'
import { planOf, type SwapPlan } from './plan.ts'
import { factsFromCluster } from './reading/from-cluster.ts'
import { COMBINED, KNOWN_SIDECARS, SIDECAR_NAMES, type SidecarName } from './sidecars.ts'

/** Tests with the pods of all drivers in charts/tests/public-drivers.json. */

const REF = { namespace: 'storage', name: 'controller' }
const ALL = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }
const RBAC = 'rbac.authorization.k8s.io'

interface Planned {
  readonly server: InProcessServer
  readonly client: InProcessClient<ApiError>
  readonly plan: SwapPlan
}

/** Stores the Deployment of a driver on the emulator, and makes its plan from there. */
async function planned(driver: (typeof PUBLIC_DRIVERS)[number]): Promise<Planned> {
  const server = createInProcessServer({ clock: new FakeClock({ now: NOW }) })
  server.create(DEPLOYMENTS, deploymentOf(driver))
  server.create(CLUSTER_ROLES, { metadata: { name: 'all' }, rules: [ALL] })
  server.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: 'all' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'all' },
    subjects: [{ kind: 'ServiceAccount', name: 'controller', namespace: 'storage' }],
  })
  const client = new InProcessClient(server, { errorOf: apiErrorOf })
  const discover = async (): Promise<unknown> => ({ major: '1', minor: '36' })
  const reading = { get: client.get.bind(client), list: client.list.bind(client), discover }
  const reader = new ApiReader(reading, new AbortController().signal)
  const facts = await factsFromCluster({ kind: 'Deployment', ...REF }, reader, 'csi.example.com')
  if (facts === undefined) throw new Error('the Deployment does not exist')
  return { server, client, plan: planOf(facts, IMAGES) }
}

const specOf = (server: InProcessServer): string => JSON.stringify(server.get(DEPLOYMENTS, REF)?.spec)

async function patch({ server, client }: Planned, { forward, back }: PatchPair): Promise<readonly Container[]> {
  const before = specOf(server)
  await client.patch(DEPLOYMENTS, REF, { kind: 'json', body: forward })
  const containers = server.get(DEPLOYMENTS, REF)?.spec?.template.spec?.containers ?? []
  expect(specOf(server)).not.toBe(before)
  await client.patch(DEPLOYMENTS, REF, { kind: 'json', body: back })
  expect(specOf(server)).toBe(before)
  return containers
}

const refusals = ({ findings }: SwapPlan): readonly PlanFinding[] =>
  findings.filter(({ kind }) => kind === 'notOneProcess')

let cluster: Cluster

beforeAll(async () => {
  cluster = await startCluster()
  const { settings } = cluster.driver
  settings.controller = [...settings.controller, 'CREATE_DELETE_SNAPSHOT']
})

afterAll(() => cluster.stop())

/** Returns the arguments of the process, followed by the socket, kubeconfig and ports of the test. */
function argumentsHere(args: readonly string[]): readonly string[] {
  const line = args.join(' ')
  const capacity = line.includes('--provisioner-enable-capacity') ? ['--provisioner-capacity-ownerref-level=-1'] : []
  const endpoints = ['--http-endpoint', '--metrics-address'].filter((flag) => line.includes(` ${flag}=`))
  return [
    ...args.map((argument) => argument.replaceAll('$(NAMESPACE)', 'default')),
    ...capacity,
    ...endpoints.map((flag) => `${flag}=127.0.0.1:0`),
    ...(/controllers=\S*livenessprobe/.test(line) ? ['--livenessprobe-health-port=0'] : []),
    `--csi-address=${cluster.driver.socket}`,
    `--kubeconfig=${cluster.kubeconfig}`,
  ]
}

/** Runs the process until each of its controllers works. */
async function startProcess(args: readonly string[]): Promise<void> {
  const names =
    args
      .find((argument) => argument.startsWith('--controllers='))
      ?.replace('--controllers=', '')
      .split(',') ?? []
  const lines = names.flatMap((name) =>
    Object.hasOwn(FACTS, name) ? [FACTS[name as keyof typeof FACTS].startLine] : [],
  )
  expect(lines.length).toBeGreaterThan(0)
  const stop = new AbortController()
  let log = ''
  const onLog = (text: string): void => {
    log += text
    if (lines.every((line) => log.includes(line))) stop.abort()
  }
  const env = { NAMESPACE: 'default', POD_NAME: 'example-0', NODE_NAME: 'node-1' }
  const { ending } = await runInProcess(sidecars, argumentsHere(args), { signal: stop.signal, onLog, env })
  expect({ ending, log }).toEqual({ ending: { code: 0 }, log: expect.stringContaining(lines[0] ?? '') })
}

/** The flags that a process has once, so that their values may differ from those of a container. */
const SHARED = [
  'automaxprocs',
  'csi-address',
  'http-endpoint',
  'kube-api-burst',
  'kube-api-qps',
  'metrics-address',
  'metrics-path',
  'v',
]

/** Returns the values of a sidecar's flags without the shared ones. */
function ownValues(values: Readonly<Record<string, unknown>>): object {
  const ofThisDriver = Object.entries(values).filter(([name]) => !SHARED.includes(name))
  return Object.fromEntries(
    ofThisDriver.map(([name, value]) => [name, value instanceof Map ? Object.fromEntries(value) : value]),
  )
}

describe.each(PUBLIC_DRIVERS)('the driver $name', (driver) => {
  it('the patch to our images is accepted, and the patch back restores the object', async () => {
    const made = await planned(driver)
    const { toImages } = made.plan
    if (toImages === undefined) throw new Error('the plan has no patch')
    const containers = await patch(made, toImages)
    const images = containers.map(({ image }) => image).filter((image) => image?.startsWith(IMAGES.registry))
    expect(images).toHaveLength(Object.values(driver.sidecars).flat().length)
  })

  it('the plan lists each container of the pod that remains Go', async () => {
    const { plan } = await planned(driver)
    const remainingGo = plan.findings.flatMap((finding) =>
      finding.kind === 'remainsGo' || finding.kind === 'livenessprobe' ? [finding.container] : [],
    )
    expect(remainingGo.toSorted()).toEqual([...driver.remains].toSorted())
  })

  it('one process with the merged flags starts, and the patch back restores the object', async () => {
    const made = await planned(driver)
    const { toOneProcess } = made.plan
    if (toOneProcess === undefined) {
      const count =
        Object.values(driver.sidecars).flat().length + driver.remains.filter((each) => each === 'livenessprobe').length
      // A pod with one sidecar needs no other process, and one that mixes node and cluster cannot have it.
      expect([
        count === 1,
        refusals(made.plan).some((each) => 'why' in each && /for each node/.test(String(each.why))),
      ]).toContain(true)
      return
    }
    const containers = await patch(made, toOneProcess)
    const combined = containers.filter(({ name }) => name.startsWith(COMBINED))
    expect(combined.length).toBeGreaterThan(0)
    for (const { args = [] } of combined) await startProcess(args)
  })

  it('the one process gives each sidecar the values of its own command line', async () => {
    const { plan } = await planned(driver)
    const combined = plan.toOneProcess?.forward.flatMap((operation) =>
      operation.op === 'replace' ? [operation.value as Container] : [],
    )
    for (const [sidecar, lines = []] of Object.entries(driver.sidecars)) {
      const knownSidecar = KNOWN_SIDECARS[sidecar as SidecarName]
      const [line, ...copies] = lines
      const args = combined?.[0]?.args ?? []
      if (line === undefined || copies.length > 0 || !args.join().includes(sidecar)) continue
      const merged = parseCombined({ byDefault: SIDECAR_NAMES.map((name) => KNOWN_SIDECARS[name]) }, args)
      const parse = knownSidecar.syntax === 'pflag' ? parsePFlags : parseFlags
      const alone = parse(tableOf(knownSidecar), replaceRemovedFlags(line.split(' ').filter(Boolean)).args)
      if (merged.kind !== 'flags' || alone.kind !== 'flags')
        throw new Error(`the arguments are refused: ${args.join(' ')}`)
      expect(ownValues(merged.flagsOf(knownSidecar).values)).toEqual(ownValues(alone.flags.values))
    }
  })
})
