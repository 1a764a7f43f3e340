import type { Restoration, SwapCondition } from '../../swap-changes/index.ts'
import type { RemainingProgram } from '../containers/identity.ts'
import type { PlanFinding } from '../finding.ts'
import { KNOWN_SIDECARS } from '../sidecars.ts'

/** Returns one sentence, without a line break, that says what a finding means and what to do about it. */
export function sentenceOf(finding: PlanFinding): string {
  switch (finding.kind) {
    case 'unknownImage':
      return `${finding.container}: the image ${finding.image} is not known, although its name looks like ${KNOWN_SIDECARS[finding.looksLike].original}. It is not swapped.`
    case 'fork':
      return `${finding.container}: ${finding.image} may be a fork of ${KNOWN_SIDECARS[finding.sidecar].original}: ${finding.why}. It is not swapped: ask the vendor what differs.`
    case 'copy':
      return `${finding.container}: the image comes from ${finding.registry} and is taken for an unchanged copy.`
    case 'unknownVersion':
      return `${finding.container}: ${finding.image} names no version of the Go sidecar, so all known changes are listed.`
    case 'notExamined':
      return `${finding.container}: version ${finding.version} is older than ${finding.oldest}. Changes before that version are not known.`
    case 'otherStarter':
      return `${finding.container}: ${finding.program} starts the sidecar. Our images contain no such program, so it is not swapped.`
    case 'remainsGo':
      return `${finding.container} ${REMAINS[finding.program]}`
    case 'livenessprobe':
      return `${finding.container}: alone it stays Go, because ours needs five times its memory. The one process replaces it.`
    case 'alreadyOurs':
      return `${finding.container} is ${finding.program} of this project already.`
    case 'warnedFlag':
      return `${finding.container}: ${finding.argument}: ${plain(finding.why)}.`
    case 'refusedFlag':
      return `${finding.container}: ${finding.argument} is refused: ${finding.why}. The patches remove it.`
    case 'change':
      return changeSentence(finding)
    case 'fipsVariable':
      return `${finding.container}: GODEBUG=${finding.value} has no effect after the swap: our sidecars do not use the cryptographic module of Go.`
    case 'lowLimit':
      return `${finding.container}: the ${finding.resource} limit ${finding.limit} is too low. The patch raises it.`
    case 'seLinux':
      return `${finding.container} is confined and ${finding.driver} is not: with SELinux enforcing, the log of the node has \`avc: denied { connectto }\`. If the sidecar of today connects, ours does too. Otherwise set \`privileged: true\` or \`seLinuxOptions: {type: spc_t}\` for it.`
    case 'socketOwner':
      return `${finding.container} runs as user ${finding.user}, and ${finding.driver} does not: the sidecar must be able to write to the socket. If the sidecar of today connects, ours does too.`
    case 'nonRootImage':
      return `${finding.container}: the pod refuses images that run as root, so it gets the image with the suffix -nonroot.`
    case 'missingRight':
      return rightSentence(finding)
    case 'missingSecrets':
      return `The service account may not read Secrets that classes name: ${finding.names.map((name) => `${finding.namespace}/${name}`).join(', ')}.`
    case 'templatedSecrets':
      return `No rule can name the Secrets of ${finding.classes.join(', ')}: their names depend on the claim. Grant \`get\` on the Secrets of those namespaces.`
    case 'allSecrets':
      return `The service account may read every Secret of the cluster. ${secretsList(finding.byNamespace)}`
    case 'unknownDriver':
      return 'The name of the CSI driver is not known, so the Secrets of its classes are not examined. Give it with --driver.'
    case 'rightsNotExamined':
      return `The rights are not examined: ${finding.why}.`
    case 'notRead':
      return `${finding.what}: ${finding.why}.`
    case 'notOneProcess':
      return `${finding.containers.join(', ')}: no one process, because ${finding.why}.`
    case 'mergedSetting':
      return `${finding.container}: ${finding.note}.`
    case 'livenessInProcess':
      return `${finding.container} answers the kubelet for the driver: give the livenessProbe of the driver a failureThreshold of 5 with a period of 10 s, or the driver restarts when this process does.`
    case 'writtenByOperator':
      return `${finding.owner} owns this object: its operator may undo a patch. Change the image in the settings of the operator, or stop it from managing the object.`
    default:
      return finding satisfies never
  }
}

const REMAINS: Readonly<Record<RemainingProgram, string>> = {
  'csi-addons': 'stays Go: it serves the APIs of csi-addons, which no sidecar of this project has.',
  'health-monitor': 'stays Go: external-health-monitor is alpha, and this project waits for its beta.',
  'node-driver-registrar': 'stays Go: it registers the driver with the kubelet of the node, next to the driver.',
  'snapshot-controller':
    'stays Go. It belongs to the cluster and not to a driver: install one snapshot-controller for the cluster, and remove it here.',
  'snapshot-metadata': 'stays Go: it serves changed blocks to backup programs, which no sidecar of this project does.',
  'snapshot-webhook':
    'stays Go. external-snapshotter 8.2 has dropped the webhook: rules in the CRDs replace it, so remove it.',
}

function changeSentence({ container, change, untested, isKept }: PlanFinding & { readonly kind: 'change' }): string {
  const condition = untested.length === 0 ? '' : ` This matters only ${untested.map(conditionText).join(' and ')}.`
  const kept =
    change.restoration.kind === 'argument' && isKept
      ? ` The patches add \`${change.restoration.argument}\`, which keeps the older behaviour.`
      : keepText(change.restoration)
  return `${container}, since ${change.since}: ${change.change}. ${change.effect}.${condition}${kept}`
}

function keepText(change: Restoration): string {
  switch (change.kind) {
    case 'argument':
      return ` \`${change.argument}\` keeps the older behaviour.`
    case 'step':
      return ` To keep the older behaviour: ${change.step}.`
    case 'none':
      return ''
    default:
      return change satisfies never
  }
}

function conditionText(condition: SwapCondition): string {
  switch (condition.kind) {
    case 'capability':
      return `if the driver has the capability ${condition.capability}`
    case 'resource':
      return `if the cluster serves ${condition.resource}`
    case 'migrated-driver':
      return 'if the driver replaces an in-tree plugin'
    case 'kubernetes-below':
      return `if Kubernetes is older than ${condition.version}`
    case 'flag-given':
      return `if one of these flags is given: ${condition.flags.map((flag) => `--${flag}`).join(', ')}`
    case 'flag-not-given':
      return `without --${condition.flag}`
    case 'gate-given':
      return `with the gate ${condition.gate}${condition.value === undefined ? '' : `=${condition.value}`}`
    case 'gate-not-given':
      return `without the gate ${condition.gate}`
    default:
      return condition satisfies never
  }
}

function rightSentence({ right }: PlanFinding & { readonly kind: 'missingRight' }): string {
  const resource = right.group === '' ? right.resource : `${right.resource}.${right.group}`
  const where = right.namespace === undefined ? '' : ` in namespace ${right.namespace}`
  const why = right.onlyFor === undefined ? '' : `, needed for ${right.onlyFor}`
  return `The service account lacks ${right.verbs.join(', ')} on ${resource}${where}${why}.`
}

function secretsList(byNamespace: Readonly<Record<string, readonly string[]>>): string {
  const names = Object.entries(byNamespace).flatMap(([namespace, all]) => all.map((name) => `${namespace}/${name}`))
  return names.length === 0
    ? 'No class of the driver names one, so the rule for Secrets can go.'
    : `The classes of the driver name only ${names.join(', ')}: the rule below is enough.`
}

/** Removes the period at the end of a text of the sidecars, to which this sentence adds its own. */
function plain(text: string): string {
  return text.replace(/\.$/, '')
}
