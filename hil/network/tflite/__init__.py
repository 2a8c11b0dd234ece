"""Networks of the second family: graphs in TFLite's int8 convention, their file, their memory plan and the settings that train them."""
