import { abortable } from '@csi-sidecars/base'

/** Resolves as soon as `holds` returns true. `holds` is called at once and after each change. */
export async function until(
  holds: () => boolean,
  onChange: (check: () => void) => () => void,
  signal: AbortSignal,
): Promise<void> {
  const done = Promise.withResolvers<void>()
  const check = (): void => {
    if (holds()) done.resolve()
  }
  const stop = onChange(check)
  check()
  try {
    await abortable(done.promise, signal)
  } finally {
    stop()
  }
}
