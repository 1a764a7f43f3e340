import { readFileSync } from 'node:fs'
import { attacher } from '@csi-sidecars/attacher'
import { provisioner } from '@csi-sidecars/provisioner'
import { resizer } from '@csi-sidecars/resizer'
import { type Program, programOf } from '@csi-sidecars/sidecar'
import { runInProcess } from '@csi-sidecars/sidecar/testing'
import { snapshotter } from '@csi-sidecars/snapshotter'
import { type Cluster, startCluster } from '@csi-sidecars/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { FACTS } from './facts.ts'
import { APPS, type AppName, type NameOnRequest, SIDECARS_ON_REQUEST } from './sidecars.ts'

/** Tests with the command lines of public drivers in charts/tests/public-drivers.json. */

interface PublicDriver {
  readonly name: string
  readonly sidecars: Readonly<Record<string, readonly string[]>>
}

const DRIVERS: readonly PublicDriver[] = JSON.parse(
  readFileSync(new URL('../../../charts/tests/public-drivers.json', import.meta.url), 'utf8'),
)

const PROGRAMS: Readonly<Record<AppName | NameOnRequest, Program>> = {
  attacher: programOf(attacher),
  resizer: programOf(resizer),
  provisioner: programOf(provisioner),
  snapshotter: programOf(snapshotter),
}

/** Arguments that the current Go sidecars refuse at the start, and the warnings that our sidecars log. */
const REFUSED_BY_ORIGINAL: readonly (readonly [argument: RegExp, warning: RegExp])[] = [
  [/--enable-leader-election/, /"Warning: this flag was removed, and is read as another flag" .*"leader-election"/],
  [/--leader-election-type/, /"Warning: this flag was removed, and has no effect" flag="leader-election-type"/],
  [/--enable-volume-group-snapshots/, /"Warning: this flag was removed, and has no effect" flag="enable-volume-/],
  [/HonorPVReclaimPolicy/, /"Ignoring feature gate that is always on" featureGate="HonorPVReclaimPolicy"/],
  [/--csiTimeout/, /"Warning: this flag was removed, and is read as another flag" flag="csiTimeout" readAs="timeout"/],
  [
    /RecoverVolumeExpansionFailure=true/,
    /"Ignoring feature gate that is always on" featureGate="RecoverVolumeExpansionFailure"/,
  ],
  [
    /RecoverVolumeExpansionFailure=false/,
    /"Warning: turning off this feature gate has no effect, it is always on" featureGate="RecoverVolumeExpansionFailure"/,
  ],
]

/** The variables that every public chart sets for its containers. */
const POD_ENVIRONMENT = { NAMESPACE: 'default', POD_NAME: 'example-0', NODE_NAME: 'node-1' }

let cluster: Cluster

beforeAll(async () => {
  cluster = await startCluster()
  const { settings } = cluster.driver
  settings.controller = [...settings.controller, 'CREATE_DELETE_SNAPSHOT']
})

afterAll(() => cluster.stop())

/** Returns a driver's arguments, followed by the socket, kubeconfig and ports of the test, which override them. */
function argumentsHere(line: string): readonly string[] {
  const driverArguments = line.replaceAll('$(NAMESPACE)', 'default').split(' ').filter(Boolean)
  // The emulated cluster has no pod that could own CSIStorageCapacity objects. This flag turns owner references off.
  const capacity = line.includes('--enable-capacity') ? ['--capacity-ownerref-level=-1'] : []
  const endpoints = ['--http-endpoint', '--metrics-address'].filter((flag) => line.includes(flag))
  return [
    ...driverArguments,
    ...capacity,
    ...endpoints.map((flag) => `${flag}=127.0.0.1:0`),
    `--csi-address=${cluster.driver.socket}`,
    `--kubeconfig=${cluster.kubeconfig}`,
  ]
}

it('the list of public drivers has 67 drivers, each with a provisioner', () => {
  expect(new Set(DRIVERS.map(({ name }) => name)).size).toBe(67)
  expect(DRIVERS.filter(({ sidecars }) => sidecars['provisioner'] === undefined)).toEqual([])
})

describe.each([...APPS, ...SIDECARS_ON_REQUEST.map(({ app }) => app)])('the %s', (app) => {
  const lines = DRIVERS.flatMap(({ name, sidecars }) => (sidecars[app] ?? []).map((line) => ({ name, line })))

  it.each(lines)('the sidecar starts with the arguments of the driver $name', async ({ line }) => {
    const { startLine } = FACTS[app]
    const stop = new AbortController()
    let log = ''
    const onLog = (text: string): void => {
      log += text
      if (log.includes(startLine)) stop.abort()
    }
    const { ending } = await runInProcess(PROGRAMS[app], argumentsHere(line), {
      signal: stop.signal,
      onLog,
      env: POD_ENVIRONMENT,
    })
    expect({ ending, log }).toEqual({ ending: { code: 0 }, log: expect.stringContaining(startLine) })
    for (const [argument, warning] of REFUSED_BY_ORIGINAL) if (argument.test(line)) expect(log).toMatch(warning)
  })
})
