// The page knows which elements it has; the compiler does not. It checks everything else.
interface Element { [property: string]: any }
interface Event { detail?: any }
