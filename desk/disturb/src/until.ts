import { abortable } from '@csi-sidecars/base'

/** Resolves when `holds` returns true. `onChange` reports the changes after which `holds` is called again. */
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
