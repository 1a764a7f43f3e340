/**
 * Flags that the Go sidecars have removed but public drivers still pass, see charts/tests/public-drivers.json. The
 * current Go sidecars end with an error because of them.
 */
const REMOVED_FLAGS: Readonly<Record<string, { readonly readAs?: string; readonly isBoolean?: true }>> = {
  // Accepted by external-resizer before v1.0.
  csiTimeout: { readAs: 'timeout' },
  // Accepted by external-provisioner before v2.0.
  'enable-leader-election': { readAs: 'leader-election', isBoolean: true },
  'leader-election-type': {},
  'connection-timeout': {},
  'deletion-retry-count': {},
  provisioner: {},
  'provisioning-retry-count': {},
  // Accepted by external-snapshotter before v8.2. The gate CSIVolumeGroupSnapshot has replaced the flag.
  'enable-volume-group-snapshots': { isBoolean: true },
  // Accepted by external-snapshotter before v2.0, which also accepted 'connection-timeout'.
  snapshotter: {},
}

/** A warning about a removed flag, for the log. */
export interface RemovedFlagNotice {
  readonly message: string
  readonly pairs: Readonly<Record<string, string>>
}

/** The arguments without removed flags, and one notice for each removed flag. */
export interface CurrentArguments {
  readonly args: readonly string[]
  readonly notices: readonly RemovedFlagNotice[]
}

/** Replaces removed flags by the current flags, or drops them. */
export function replaceRemovedFlags(written: readonly string[]): CurrentArguments {
  const args: string[] = []
  const notices: RemovedFlagNotice[] = []
  for (let at = 0; at < written.length; at += 1) {
    const argument = written[at] ?? ''
    const [, flag = '', value] = /^--?([^=]+)(=.*)?$/s.exec(argument) ?? []
    const removedFlag = Object.hasOwn(REMOVED_FLAGS, flag) ? REMOVED_FLAGS[flag] : undefined
    if (removedFlag === undefined) {
      args.push(argument)
      continue
    }
    const { readAs, isBoolean = false } = removedFlag
    if (readAs !== undefined) {
      args.push(`--${readAs}${value ?? ''}`)
      notices.push({ message: 'Warning: this flag was removed, and is read as another flag', pairs: { flag, readAs } })
      continue
    }
    // The next argument is the value of the removed flag, so it is dropped too.
    if (value === undefined && !isBoolean) at += 1
    notices.push({ message: 'Warning: this flag was removed, and has no effect', pairs: { flag } })
  }
  return { args, notices }
}
