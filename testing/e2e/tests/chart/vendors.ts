import { deepStrictEqual as equal } from 'node:assert'
import { freePort } from '@csi-sidecars/emulator'
import type { AppName as App } from '@csi-sidecars/sidecars'
import { VENDORS, type Vendor } from '../../../../charts/tests/vendors.ts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { ATTACH, attachAndWait, detachAndWait } from '../../rows/attacher/scene.ts'
import { EXPAND, grown } from '../../rows/resizer/scene.ts'

/**
 * Runs our sidecars with the exact arguments and permissions of the pods of public drivers.
 * charts/tests/vendors.test.ts lists the chart values that produce these arguments.
 */

const OPTIONS = { only: 'ours', target: 'emulator', long: true } as const

/** Starts a sidecar with the vendor's arguments. Only the socket path, the namespace and the port are replaced. */
async function started(
  t: TestContext,
  { vendor, app, driver }: { readonly vendor: Vendor; readonly app: App; readonly driver: FakeDriver },
): Promise<RunningSidecar> {
  const user = await userWith(t, vendor.rules)
  const gate = await t.gate()
  const port = await freePort()
  const args = (vendor.args[app] ?? []).map((argument) =>
    argument
      .replace('$(ADDRESS)', vendor.address?.startsWith('unix://') === true ? `unix://${driver.socket}` : driver.socket)
      .replace('$(POD_NAMESPACE)', t.namespace)
      .replace(/^--http-endpoint=.*/, `--http-endpoint=127.0.0.1:${port}`),
  )
  // The default folder of `--csi-address` does not exist on this machine, so the flag names the test's socket.
  const address = vendor.address === undefined ? [`--csi-address=${driver.socket}`] : []
  const bareArgs = [...args, ...address, `--kubeconfig=${t.kubeconfig(gate.url, user.token)}`]
  return t.sidecar({ app, gate, user, bareArgs, env: { POD_NAMESPACE: t.namespace } })
}

for (const vendor of VENDORS) {
  if (vendor.args.attacher !== undefined) {
    testsOf('attacher', 'vendors')(`the attacher works with the arguments of ${vendor.name}`, OPTIONS, async (t) => {
      const driver = await t.driver({ controller: ATTACH })
      const node = await t.createNode('node')
      const attacher = await started(t, { vendor, app: 'attacher', driver })
      const { va } = await attachAndWait(t, { node })
      await detachAndWait(t, va)
      equal(attacher.gate.forbidden(), [])
    })
  }
  if (vendor.args.resizer !== undefined) {
    testsOf('resizer', 'vendors')(`the resizer works with the arguments of ${vendor.name}`, OPTIONS, async (t) => {
      const driver = await t.driver({ controller: EXPAND, node: [] })
      await t.createClass()
      const resizer = await started(t, { vendor, app: 'resizer', driver })
      await grown(t)
      equal(resizer.gate.forbidden(), [])
    })
  }
}
