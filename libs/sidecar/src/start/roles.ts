import type { Lead } from '@csi-sidecars/controller'
import type { ClusterConfig, KubeClient } from '@csi-sidecars/kube-client'
import type { Logger } from '@csi-sidecars/telemetry'
import { leaseIdentity, leaseName, leaseNamespace } from '../lease/lease-name.ts'
import { OtherLeases } from '../lease/other-leases.ts'
import type { StartContext } from '../process.ts'
import { type LeaseRole, restartOnFailure } from '../serve/serve.ts'
import { type ChosenApp, type StartPlan, standardOf, withSidecarName } from './program.ts'
import { electorOf, kubeClient } from './steps.ts'

/** An app with the work that it does while it leads. */
export interface LeadingApp {
  readonly sidecar: ChosenApp
  readonly log: Logger
  readonly lead: (lead: Lead) => Promise<void>
}

interface RoleParts {
  readonly config: ClusterConfig
  readonly driverName: string
  readonly apps: readonly LeadingApp[]
}

/**
 * Returns one role for all apps if `singleLease` is set. Otherwise each app has a role with the Lease of its Go
 * sidecar, so that the app and the Go sidecar never work at once.
 */
export async function rolesOf(
  context: StartContext,
  { singleLease }: StartPlan,
  { config, driverName, apps }: RoleParts,
): Promise<readonly LeaseRole[]> {
  let created: KubeClient | undefined
  const client = (): KubeClient => {
    created ??= kubeClient(context, config)
    return created
  }
  const nameOf = ({ sidecar }: LeadingApp): string => leaseName(sidecar.app.lease.prefix, driverName)
  if (singleLease !== '') {
    const role = await roleOfAll(context, { name: singleLease, others: apps.map(nameOf), apps, client })
    return [role]
  }
  return await Promise.all(
    apps.map(async (each): Promise<LeaseRole> => {
      const { sidecar, log, lead } = each
      const { name, lease } = sidecar.app
      const elector = await electorOf(context, {
        client,
        standard: standardOf(sidecar.flags),
        name: nameOf(each),
        component: lease.component(driverName),
        namesLeaseInMetrics: apps.length > 1,
        log,
      }).catch(withSidecarName(sidecar))
      return { name, elector, lead }
    }),
  )
}

interface SingleLease {
  readonly name: string
  /** The Leases of the Go sidecars, which no other process may hold. */
  readonly others: readonly string[]
  readonly apps: readonly LeadingApp[]
  readonly client: () => KubeClient
}

async function roleOfAll(context: StartContext, { name, others, apps, client }: SingleLease): Promise<LeaseRole> {
  const { clock, log, standard, host } = context
  const elector = await electorOf(context, {
    client,
    standard,
    name,
    component: context.name,
    namesLeaseInMetrics: true,
    log,
  })
  if (elector === undefined) throw new Error('a single lease without leader election')
  const { values } = standard
  const otherLeases = new OtherLeases({
    client: client(),
    namespace: await leaseNamespace({ flag: values['leader-election-namespace'], env: host.env }),
    names: others,
    identity: leaseIdentity(host.hostName),
    periodMs: values['leader-election-retry-period'],
    leaseDurationMs: values['leader-election-lease-duration'],
    clock,
    log,
  })
  return {
    name: context.name,
    elector,
    whenEligible: (signal) => otherLeases.whenFree(signal),
    whenWaitingForOtherLease: otherLeases.whenWaiting,
    lead: async (lead) => {
      const { stop } = lead
      const terms = apps.map((each) =>
        restartOnFailure(() => each.lead(lead), { name: each.sidecar.app.name, clock, log: each.log, stop }),
      )
      await Promise.all([...terms, otherLeases.watch(stop)])
    },
  }
}
