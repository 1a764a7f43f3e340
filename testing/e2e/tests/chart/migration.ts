import { deepStrictEqual as equal, match } from 'node:assert'
import { LEASES } from '@csi-sidecars/kube-types'
import { LONG } from '../../harness/test.ts'
import { provision } from '../provisioner/scene.ts'
import { createClass, createContent, installCrds, ready, snapshot } from '../snapshotter/scene.ts'
import {
  detaches,
  ground,
  INSTALLATION,
  installationTests,
  linesOf,
  NAMESPACE,
  ONE,
  ORIGINALS,
  OURS,
  onlyRuns,
  vendorDeployment,
  works,
} from './installation.ts'
import { releasedChart } from './released.ts'

/** Runs the commands of docs/migration.md in their order and checks their effects. */

const lines = linesOf('docs/migration.md')
/** The number of commands that replace the originals. Later commands are about the combined process and upgrades. */
const SWAP = 6

const test = LONG ? installationTests('attacher', 'migration page') : () => undefined

test('the commands of docs/migration.md lead from the original sidecars to ours and back', INSTALLATION, async (t) => {
  await using here = await ground(t)
  const { kubelet } = here
  const shell = (line = ''): Promise<string> => here.shell(line.replaceAll('<name>', 'example-controller'))
  const [before, there, done, leases, back, doneAgain] = lines
  equal(lines.length, SWAP + 8)
  await vendorDeployment(t)
  await onlyRuns(kubelet, ORIGINALS)
  await works(t, '1')
  match(await shell(before), /^driver \S+\ncsi-attacher \S+:v4\.13\.0\ncsi-resizer \S+:v2\.3\.0\n$/)
  await shell(there)
  await shell(done)
  await onlyRuns(kubelet, OURS)
  await works(t, '2')
  await detaches(t, '1')
  match(
    await shell(leases),
    new RegExp(`^LEASE +HOLDER\n[^]*external-attacher-leader-${t.id}-csi-example-com +example-controller-`),
  )
  await shell(back)
  await shell(doneAgain)
  await onlyRuns(kubelet, ORIGINALS)
  await works(t, '3')
  await detaches(t, '2')
  await detaches(t, '3')
})

test('docs/migration.md leads to the combined process and back, and to a new version', INSTALLATION, async (t) => {
  await using here = await ground(t)
  const { kubelet, shell } = here
  const released = releasedChart(t)
  const [there = '', back = '', nodes = '', upgrade = '', status = '', rollback = ''] = lines.slice(SWAP)
  const [install = ''] = linesOf('README.md').filter((line) => line.startsWith('helm upgrade --install'))
  await shell(released(install))
  await onlyRuns(kubelet, OURS)
  await works(t, '1')
  await shell(released(there))
  await onlyRuns(kubelet, ONE)
  await works(t, '2')
  await detaches(t, '1')
  match(await shell(nodes), new RegExp(`^VOLUME +DRIVER +NODES\n[^]*${t.id}-pv\\S* +${t.driverName} +<none>`))
  await shell(released(back))
  await onlyRuns(kubelet, OURS)
  await shell(released(upgrade))
  match(await shell(status), /\n4\s.*deployed/)
  await shell(rollback)
  await onlyRuns(kubelet, OURS)
  await detaches(t, '2')
  await shell(`helm uninstall example --namespace ${NAMESPACE}`)
})

test('the commands of docs/migration.md lead to all sidecars in one process and back', INSTALLATION, async (t) => {
  await installCrds(t)
  await using here = await ground(t)
  const { kubelet, shell, driver } = here
  driver.capabilities.controller.push('CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT')
  driver.on('CreateSnapshot', snapshot())
  const released = releasedChart(t)
  const [there = '', back = ''] = lines.slice(-2)
  const [install = ''] = linesOf('README.md').filter((line) => line.startsWith('helm upgrade --install'))
  await shell(released(install))
  await onlyRuns(kubelet, OURS)
  await shell(released(there))
  await onlyRuns(kubelet, ONE)
  await works(t, '1')
  await provision(t, { suffix: '-new' })
  await createClass(t)
  await createContent(t)
  await ready(t)
  equal((await t.api.list(LEASES, NAMESPACE)).filter(({ spec }) => spec?.holderIdentity).length, 4)
  await shell(released(back))
  await onlyRuns(kubelet, ONE)
  await detaches(t, '1')
  await shell(`helm uninstall example --namespace ${NAMESPACE}`)
})
