export {
  csiNameFromInTreeName,
  inTreeNameFromCSIName,
  inTreePluginNameFromSpec,
  isInlineMigratable,
  isMigratableInTreePluginByName,
  isMigratedCSIDriverByName,
  isPVMigratable,
  repairVolumeHandle,
  translateInTreeInlineVolumeToCSI,
  translateInTreePVToCSI,
} from './translate.ts'
export { TranslationError, type TranslationErrorCode } from './translation-error.ts'
