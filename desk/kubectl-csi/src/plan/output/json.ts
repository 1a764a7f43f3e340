import { weightOf } from '../finding.ts'
import type { PatchPair } from '../patches/json-patch.ts'
import type { SwapPlan } from '../plan.ts'
import { KNOWN_SIDECARS } from '../sidecars.ts'
import { kubectlPatch, kustomizePatch, valuesOfChart } from './patches.ts'
import { roleManifests } from './roles.ts'
import { sentenceOf } from './sentences.ts'

/** Returns the plan for programs. */
export function planJson(plan: SwapPlan): object {
  const { workload, driverName, containers, findings, helm, toImages, toOneProcess } = plan
  const { kind, namespace, name } = workload
  return {
    object: { kind, namespace, name },
    driver: driverName,
    containers: containers.map(({ identity, ...container }) => ({
      ...container,
      identity: {
        ...identity,
        ...('sidecar' in identity && {
          original: KNOWN_SIDECARS[identity.sidecar].original,
          replaces: KNOWN_SIDECARS[identity.sidecar].replaces,
        }),
      },
    })),
    findings: findings.map((finding) => ({ ...finding, weight: weightOf(finding), text: sentenceOf(finding) })),
    roles: roleManifests(workload, findings),
    helm: helm === undefined ? undefined : { ...helm, values: valuesOfChart(plan) },
    patches: {
      images: pairJson(plan, toImages),
      oneProcess: pairJson(plan, toOneProcess),
    },
  }
}

function pairJson({ workload }: SwapPlan, pair: PatchPair | undefined): object | undefined {
  if (pair === undefined) return undefined
  return {
    forward: pair.forward,
    back: pair.back,
    commands: { forward: kubectlPatch(workload, pair.forward), back: kubectlPatch(workload, pair.back) },
    kustomize: kustomizePatch(workload, pair.forward),
  }
}
